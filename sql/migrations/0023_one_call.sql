-- One call that makes a session, runs a command in it and deletes it.

-- cleanup: whether the session is deleted when no execution of it waits or runs any more.
ALTER TABLE session
    ADD COLUMN cleanup text NOT NULL DEFAULT 'keep' CHECK (cleanup IN ('keep', 'on_completion'));

-- command: run by an execution that names only its agent type.
ALTER TABLE profile
    ADD COLUMN command text CHECK (length(command) BETWEEN 1 AND 65536);
