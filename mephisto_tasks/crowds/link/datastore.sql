CREATE TABLE IF NOT EXISTS visits (
    visit_id INTEGER PRIMARY KEY,
    task_name TEXT NOT NULL,
    door TEXT NOT NULL,
    worker_name TEXT NOT NULL,
    study TEXT NOT NULL,
    session TEXT NOT NULL,
    registration TEXT NOT NULL,
    status TEXT NOT NULL,
    began REAL NOT NULL,
    ended REAL,
    agent_id TEXT,
    panel_status TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS visits_of_sessions ON visits (task_name, door, session) WHERE session != '';
CREATE INDEX IF NOT EXISTS visits_of_workers ON visits (task_name, worker_name);
CREATE INDEX IF NOT EXISTS visits_of_agents ON visits (agent_id);
CREATE TABLE IF NOT EXISTS blocked (worker_id TEXT PRIMARY KEY);
