-- Classes whose sessions may change their root.

-- writable_root: each session has the class's rootfs below changes of its own.  The
-- system directories of the host are no rootfs: they belong to root, and change.
ALTER TABLE class
    ADD COLUMN writable_root boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT class_writable_root_check CHECK (rootfs <> '' OR NOT writable_root);
