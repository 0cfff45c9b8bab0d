CREATE TABLE "audit_entry" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_entry_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor_user_id" uuid,
	"actor_name" text NOT NULL,
	"actor_key_id" uuid,
	"request_id" text,
	"action" text NOT NULL,
	"subject_id" text NOT NULL,
	"details" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "share" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"website_id" uuid NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"parameters" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "share_slug" UNIQUE("slug")
);
--> statement-breakpoint
ALTER TABLE "share" ADD CONSTRAINT "share_website_id_website_id_fk" FOREIGN KEY ("website_id") REFERENCES "public"."website"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_entry_subject_id" ON "audit_entry" USING btree ("subject_id","id");--> statement-breakpoint
CREATE INDEX "audit_entry_actor_user_id" ON "audit_entry" USING btree ("actor_user_id","id");--> statement-breakpoint
CREATE INDEX "share_website_id" ON "share" USING btree ("website_id","created_at");--> statement-breakpoint
-- The audit log only grows, whoever asks.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
--> statement-breakpoint
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_entry" FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
-- Whoever sets a website's share id, of this version or of the one before it, makes its newest link have this slug; null ends all its links.
CREATE FUNCTION keep_shares() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.share_id IS NULL THEN
		DELETE FROM share WHERE website_id = NEW.id;
	ELSIF NOT EXISTS (SELECT FROM share WHERE website_id = NEW.id AND slug = NEW.share_id) THEN
		IF TG_OP = 'UPDATE' THEN
			UPDATE share SET slug = NEW.share_id, updated_at = now() WHERE website_id = NEW.id AND slug = OLD.share_id;
		END IF;
		IF TG_OP = 'INSERT' OR NOT FOUND THEN
			INSERT INTO share (website_id, name, slug, parameters)
			VALUES (NEW.id, NEW.name, NEW.share_id, '{"overview": true, "events": true}');
		END IF;
	END IF;
	RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER keep_shares AFTER INSERT OR UPDATE OF "share_id" ON "website" FOR EACH ROW EXECUTE FUNCTION keep_shares();
--> statement-breakpoint
INSERT INTO "share" ("website_id", "name", "slug", "parameters")
SELECT "id", "name", "share_id", '{"overview": true, "events": true}' FROM "website" WHERE "share_id" IS NOT NULL;
--> statement-breakpoint
-- A new link says nothing: that there is none is remembered by nobody.
CREATE TRIGGER access_change AFTER DELETE OR UPDATE ON "share" FOR EACH ROW EXECUTE FUNCTION announce_access_change('website', 'website_id');
