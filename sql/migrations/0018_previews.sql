-- The address that the app behind a preview gets as its own, and the base of its URL.

-- host: the Host header of its requests.  localhost: localhost:PORT, and the public
-- address as X-Forwarded-*; localhost-only: without that; public: the address itself.
-- base_url: of this port's URL, if it is not the session's.
ALTER TABLE port
    ADD COLUMN host text NOT NULL DEFAULT 'localhost'
        CHECK (host IN ('localhost', 'localhost-only', 'public')),
    ADD COLUMN base_url text;
