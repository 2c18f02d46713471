CREATE TABLE IF NOT EXISTS held (
    worker TEXT NOT NULL,
    thing TEXT NOT NULL,
    digest BLOB NOT NULL,
    since REAL NOT NULL,
    PRIMARY KEY (thing, digest)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held_of_workers ON held (worker);
