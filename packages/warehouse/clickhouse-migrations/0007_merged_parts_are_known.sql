-- Whether a block may be sent again under its token hangs on how many parts a table got since: it remembers the tokens of so many (remembers-tokens.ts). Without
-- this ClickHouse 26.7 forgets parts as soon as they are merged. Two minutes: each of them takes 30 KB of memory and 15 files until then.
ALTER TABLE {{local:events}} {{on_cluster}} MODIFY SETTING old_parts_lifetime = 120;
ALTER TABLE {{local:site_visits}} {{on_cluster}} MODIFY SETTING old_parts_lifetime = 120;
ALTER TABLE {{local:stray_visits}} {{on_cluster}} MODIFY SETTING old_parts_lifetime = 120;
ALTER TABLE {{local:site_15m}} {{on_cluster}} MODIFY SETTING old_parts_lifetime = 120;
ALTER TABLE {{local:site_texts}} {{on_cluster}} MODIFY SETTING old_parts_lifetime = 120;
