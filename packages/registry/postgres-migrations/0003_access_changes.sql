-- Tells every process that remembers who may do what (src/access-cache.ts) what has changed: 'user <id>', 'session <id>', 'website <id>'
-- or 'team <id>'. Arguments of the trigger: the kind, and the column that names which.
CREATE FUNCTION announce_access_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM pg_notify('access_change', TG_ARGV[0] || ' ' || (to_jsonb(OLD) ->> TG_ARGV[1]));
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM pg_notify('access_change', TG_ARGV[0] || ' ' || (to_jsonb(NEW) ->> TG_ARGV[1]));
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
-- By this a process finds out whether it still hears. Nothing is lost with a beat, so no disk is waited for.
CREATE FUNCTION access_beat(beat text) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('synchronous_commit', 'off', true);
	SELECT pg_notify('access_change', 'beat ' || beat);
$$;
--> statement-breakpoint
-- Not of last_used_at, which is written all the time. What was not there before is remembered by nobody, so that a new row says nothing.
CREATE TRIGGER access_change AFTER DELETE OR UPDATE OF "user_id", "key_hash", "name" ON "api_key" FOR EACH ROW EXECUTE FUNCTION announce_access_change('user', 'user_id');
--> statement-breakpoint
CREATE TRIGGER access_change AFTER DELETE OR UPDATE ON "user_account" FOR EACH ROW EXECUTE FUNCTION announce_access_change('user', 'id');
--> statement-breakpoint
CREATE TRIGGER access_change AFTER INSERT ON "ended_session" FOR EACH ROW EXECUTE FUNCTION announce_access_change('session', 'id');
--> statement-breakpoint
CREATE TRIGGER access_change AFTER DELETE OR UPDATE ON "website" FOR EACH ROW EXECUTE FUNCTION announce_access_change('website', 'id');
--> statement-breakpoint
CREATE TRIGGER access_change AFTER DELETE OR UPDATE ON "team" FOR EACH ROW EXECUTE FUNCTION announce_access_change('team', 'id');
--> statement-breakpoint
-- New rows as well: that somebody is no member is remembered, too.
CREATE TRIGGER access_change AFTER INSERT OR DELETE OR UPDATE ON "team_user" FOR EACH ROW EXECUTE FUNCTION announce_access_change('team', 'team_id');
