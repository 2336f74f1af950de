/** Programs for every component with such a database. They run in its container, with its environment; a new password comes on stdin. */
type DatabasePrograms = Readonly<Record<'dump' | 'restore' | 'rotate' | 'verify', readonly string[]>>;

export const databasePrograms = ['postgresql', 'mysql', 'mysql-root'] as const;

const script = (...lines: string[]): readonly string[] => ['sh', '-ec', `${lines.join('\n')}\n`];

/** Variable names of the MariaDB and MySQL images for the same settings. */
const mysqlNames = [
  'client=$(command -v mariadb || command -v mysql)',
  'dumper=$(command -v mariadb-dump || command -v mysqldump)',
  'name="$MARIADB_DATABASE"; [ -n "$name" ] || name="$MYSQL_DATABASE"',
  'user="$MARIADB_USER"; [ -n "$user" ] || user="$MYSQL_USER"',
];
const asRoot = [
  ...mysqlNames,
  'MYSQL_PWD="$MARIADB_ROOT_PASSWORD"; [ -n "$MYSQL_PWD" ] || MYSQL_PWD="$MYSQL_ROOT_PASSWORD"',
  'export MYSQL_PWD',
];
/** As an SQL string, which is passed on the client's stdin: all users can see its arguments. */
const readNew = ['IFS= read -r new', String.raw`new=$(printf %s "$new" | sed -e 's/\\/\\\\/g' -e "s/'/''/g")`];

/** The login may fail: any response shows that the server is up. */
const mysqlAnswers =
  'admin=$(command -v mariadb-admin || command -v mysqladmin); "$admin" --protocol=tcp --host="$(hostname)" --user=nobody ping >/dev/null 2>&1 || exit 126';

const mysqlDump: Pick<DatabasePrograms, 'dump' | 'restore'> = {
  dump: script(...asRoot, 'exec "$dumper" --user=root --single-transaction --quick --routines --events --hex-blob "$name"'),
  // Beside the old database first, which stays if a dump fails to load. An interrupted dump ends in invalid SQL.
  restore: script(
    ...asRoot,
    'beside="${name}_restored"',
    `letters=$("$client" --user=root --batch --skip-column-names --execute="select concat('character set ', default_character_set_name, ' collate ', default_collation_name) from information_schema.schemata where schema_name = '$name'")`,
    String.raw`"$client" --user=root --execute="drop database if exists \`$beside\`; create database \`$beside\` $letters"`,
    '"$client" --user=root "$beside"',
    String.raw`"$client" --user=root --execute="drop database if exists \`$name\`; create database \`$name\` $letters"`,
    '{ "$dumper" --user=root --quick --routines --events --triggers --hex-blob "$beside" || echo "the copy broke off;"; } | "$client" --user=root "$name"',
    String.raw`"$client" --user=root --execute="drop database \`$beside\`"`,
  ),
};

const programs: Readonly<Record<(typeof databasePrograms)[number], DatabasePrograms>> = {
  postgresql: {
    dump: ['sh', '-c', 'exec pg_dump --format=custom --compress=0 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB"'],
    restore: script(
      'new="${POSTGRES_DB}_restored"',
      'dropdb --force --if-exists --username="$POSTGRES_USER" --maintenance-db=template1 "$new"',
      'createdb --username="$POSTGRES_USER" --maintenance-db=template1 --template=template0 "$new"',
      'pg_restore --no-owner --single-transaction --username="$POSTGRES_USER" --dbname="$new"',
      'dropdb --force --if-exists --username="$POSTGRES_USER" --maintenance-db=template1 "$POSTGRES_DB"',
      String.raw`psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=template1 --command="alter database \"$new\" rename to \"$POSTGRES_DB\""`,
    ),
    rotate: script(
      'IFS= read -r NEW; export NEW',
      `exec psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'`,
      String.raw`\getenv new NEW`,
      `alter role current_user password :'new';`,
      'SQL',
    ),
    // Uses the container's own address: the image trusts loopback without a password.
    verify: script(
      'IFS= read -r PGPASSWORD; export PGPASSWORD',
      // psql exits with the same code for a wrong password and for a server that is still starting.
      'pg_isready --quiet --host="$(hostname)" || exit 126',
      `exec psql --quiet --no-psqlrc --no-password --host="$(hostname)" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --command='select 1'`,
    ),
  },
  mysql: {
    ...mysqlDump,
    rotate: script(...asRoot, ...readNew, 'exec "$client" --user=root <<SQL', `alter user '$user'@'%' identified by '$new';`, 'SQL'),
    verify: script(
      ...mysqlNames,
      'IFS= read -r MYSQL_PWD; export MYSQL_PWD',
      mysqlAnswers,
      `exec "$client" --protocol=tcp --host="$(hostname)" --user="$user" --execute='select 1' "$name"`,
    ),
  },
  'mysql-root': {
    ...mysqlDump,
    // Its image creates root for this machine and for every other host.
    rotate: script(
      ...asRoot,
      ...readNew,
      'exec "$client" --user=root <<SQL',
      `alter user if exists 'root'@'%' identified by '$new';`,
      `alter user 'root'@'localhost' identified by '$new';`,
      'SQL',
    ),
    verify: script(
      ...mysqlNames,
      'IFS= read -r MYSQL_PWD; export MYSQL_PWD',
      mysqlAnswers,
      `exec "$client" --user=root --execute='select 1'`,
    ),
  },
};

export function databaseProgram(name: (typeof databasePrograms)[number], part: keyof DatabasePrograms) {
  return { argv: [...programs[name][part]] };
}
