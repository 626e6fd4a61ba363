-- A ticket stands for a key in the address of a WebSocket, where a browser has
-- no other place for one: for a minute, once, and for one purpose.  The table is
-- unlogged: a client that lost its ticket in a crash asks for another.
CREATE UNLOGGED TABLE ticket (
    hash       text        PRIMARY KEY,          -- BLAKE2b; the ticket itself is nowhere
    session_id text        NOT NULL REFERENCES session ON DELETE CASCADE,
    key_id     text        NOT NULL REFERENCES api_key, -- the ticket ends with the key
    purpose    text        NOT NULL,             -- the WebSocket it opens; see src/api/gate/ticket.c
    expires_at timestamptz NOT NULL,
    used_by    text                              -- the one request that came with it
);
CREATE INDEX ticket_by_session ON ticket (session_id, expires_at);
CREATE INDEX ticket_by_age ON ticket (expires_at);
