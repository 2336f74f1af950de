-- Run once, when the folder of data is made. wallabag makes its tables only where its database is not there yet,
-- but the database's image has just made one of that name. Nothing is in it.
\connect postgres
DROP DATABASE wallabag;
