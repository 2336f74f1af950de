import { join } from 'node:path';
import { expect } from 'vitest';
import { form, layGround, page, type Row } from './deployed-rows.ts';
import { describeReal } from './real-engines.ts';

// Apart from the other rows of the catalog: it takes as long as all of those together.
describeReal('docker', 'the content management system of the catalog, with real programs', (engine) => {
  const ground = layGround(engine);

  const row: Row = {
    group: 'productivity',
    id: 'cms',
    ports: ['WEB_PORT'],
    word: 'setup required',
    proof: async ({ port, run, inside, word }) => {
      const asPublic = { Host: 'localhost:8100' };
      const filled = form({
        ...{
          weblog_title: 'Rust and salt',
          user_name: 'ada',
          admin_password: 'correct horse battery',
          admin_password2: 'correct horse battery',
        },
        ...{ pw_weak: 'on', admin_email: 'ada@example.org', blog_public: '0', language: '', Submit: 'Install' },
      });
      const done = await page(port('WEB_PORT'), '/wp-admin/install.php?step=2', {
        ...filled,
        headers: { ...filled.headers, ...asPublic },
        limitMs: 60_000,
      });
      expect(done.body).toContain('Success!');
      await word('healthy');
      const title = async () =>
        (JSON.parse((await page(port('WEB_PORT'), '/?rest_route=/', { headers: asPublic })).body) as { name: string }).name;
      expect(await title()).toBe('Rust and salt');

      const sql = (statement: string) =>
        inside(
          'db',
          'sh',
          '-c',
          'MYSQL_PWD="$MARIADB_ROOT_PASSWORD" mariadb --user=root --batch --skip-column-names wordpress --execute="$1"',
          'sh',
          statement,
        );
      await sql(
        'create table kept (id int primary key, t text, b varbinary(9)); create trigger kept_too before insert on kept for each row set new.t = upper(new.t)',
      );
      await sql("create procedure count_kept() select count(*) from kept; insert into kept values (1, 'grün 🦀 it''s', x'00ff0a27')");
      const backups = join(ground.folder, 'backups');
      await run('backup', 'cms', '--to', backups, '--yes');
      await sql(
        "update wp_options set option_value = 'Lost' where option_name = 'blogname'; drop table kept; drop procedure count_kept; create table later (id int)",
      );
      expect(await title()).toBe('Lost');
      await run('restore', 'cms', '--to', backups, '--yes');
      await word('healthy');
      expect(await title()).toBe('Rust and salt');
      expect(
        await sql("select t, hex(b) from kept; insert into kept values (2, 'x', ''); select t from kept where id = 2; call count_kept()"),
      ).toBe("GRÜN 🦀 IT'S\t00FF0A27\nX\n2");
      expect(await sql("show tables like 'later'")).toBe('');

      for (const secret of ['WORDPRESS_DB_PASSWORD', 'MARIADB_ROOT_PASSWORD'])
        expect(await run('secrets', 'rotate', 'cms', secret, '--yes')).toContain(
          'Verified: the new value works, and the old one does not.',
        );
      await word('healthy');
      expect(await title()).toBe('Rust and salt');
      await run('backup', 'cms', '--to', backups, '--yes');
    },
  };

  ground.prove([row]);
});
