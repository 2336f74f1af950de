-- Runs once, when the data directory is initialized. wallabag creates its tables only if its database does not exist,
-- but the PostgreSQL image has just created it. It is still empty, so it can be dropped.
\connect postgres
DROP DATABASE wallabag;
