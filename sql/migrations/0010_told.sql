-- Whether somebody has been told of a session whose first start is under way: a
-- create that found no room is taken back only while nobody knows of it.
ALTER TABLE session ADD COLUMN told boolean NOT NULL DEFAULT false;
