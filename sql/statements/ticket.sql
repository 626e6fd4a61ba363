-- Tickets: made here, taken in auth_session.

-- name: ticket_create
-- params: hash, session_id, tenant, key_id, purpose, seconds, most
SELECT iso(ticket_create($1, $2, $3, $4, $5, $6::int, $7::int)) AS expires_at;
