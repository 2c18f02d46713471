CREATE TABLE IF NOT EXISTS invitations (
    invitation_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    identity TEXT NOT NULL,
    worker TEXT,
    seats INTEGER,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    revoked REAL
);
CREATE TABLE IF NOT EXISTS guests (
    invitation_id TEXT NOT NULL REFERENCES invitations,
    worker TEXT NOT NULL,
    came REAL NOT NULL,
    PRIMARY KEY (invitation_id, worker)
);
