CREATE TABLE IF NOT EXISTS payments (
    token TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    session TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    assignment TEXT NOT NULL,
    cents INTEGER NOT NULL CHECK (cents >= 0),
    why TEXT NOT NULL,
    state TEXT NOT NULL,
    words TEXT NOT NULL,
    file TEXT NOT NULL,
    intended_at REAL NOT NULL,
    changed_at REAL NOT NULL
);
