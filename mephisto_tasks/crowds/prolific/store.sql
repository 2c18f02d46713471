CREATE TABLE IF NOT EXISTS studies (
    mark TEXT PRIMARY KEY,
    task_name TEXT NOT NULL,
    account TEXT NOT NULL,
    workspace TEXT NOT NULL,
    project TEXT NOT NULL,
    study_id TEXT NOT NULL,
    body TEXT NOT NULL,
    made REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS endings (
    session TEXT PRIMARY KEY,
    study_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    due REAL NOT NULL,
    tries INTEGER NOT NULL,
    said TEXT NOT NULL,
    done REAL
);
CREATE TABLE IF NOT EXISTS lacking (workspace TEXT NOT NULL, feature TEXT NOT NULL, PRIMARY KEY (workspace, feature));
