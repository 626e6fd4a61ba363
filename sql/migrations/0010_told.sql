-- told: a client knows the id of a session whose first start is under way.  A create that
-- found no room takes its session back only while no client knows of it.
ALTER TABLE session ADD COLUMN told boolean NOT NULL DEFAULT false;
