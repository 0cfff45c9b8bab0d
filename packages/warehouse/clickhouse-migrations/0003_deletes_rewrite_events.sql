-- What DELETE FROM removed from events stayed in the projection, in which paths, names and types are looked up: ClickHouse (26.7) makes it anew from all
-- rows of a part, removed ones too. Now such a DELETE is refused, ALTER TABLE … DELETE takes its place, and parts that hold removed rows are written anew.
ALTER TABLE {{local:events}} {{on_cluster}} MODIFY SETTING lightweight_mutation_projection_mode = 'throw';
ALTER TABLE {{local:events}} {{on_cluster}} APPLY DELETED MASK;
