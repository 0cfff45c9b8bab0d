CREATE TABLE "api_key" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"key_prefix" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "api_key_key_hash" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE "ended_session" (
	"id" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "team" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"access_code" text,
	"logo_url" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "team_access_code" UNIQUE("access_code")
);
--> statement-breakpoint
CREATE TABLE "team_user" (
	"team_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "team_user_pkey" PRIMARY KEY("team_id","user_id"),
	CONSTRAINT "team_user_role" CHECK ("team_user"."role" in ('team-owner', 'team-manager', 'team-member', 'team-view-only'))
);
--> statement-breakpoint
CREATE TABLE "user_account" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"username" text NOT NULL,
	"username_key" text,
	"password_hash" text NOT NULL,
	"role" text NOT NULL,
	"home_region" text NOT NULL,
	"session_generation" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "user_account_username_key" UNIQUE("username_key"),
	CONSTRAINT "user_account_role" CHECK ("user_account"."role" in ('admin', 'user', 'view-only'))
);
--> statement-breakpoint
CREATE TABLE "website" (
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"domain" text NOT NULL,
	"share_id" text,
	"team_id" uuid,
	"user_id" uuid,
	"created_by" uuid NOT NULL,
	"region" text NOT NULL,
	"replay_config" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"reset_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"purged_at" timestamp (3) with time zone,
	CONSTRAINT "website_pkey" PRIMARY KEY("id"),
	CONSTRAINT "website_share_id" UNIQUE("share_id"),
	CONSTRAINT "website_one_owner" CHECK (num_nonnulls("website"."team_id", "website"."user_id") = 1)
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_user" ADD CONSTRAINT "team_user_team_id_team_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."team"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_user" ADD CONSTRAINT "team_user_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "website" ADD CONSTRAINT "website_team_id_team_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."team"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "website" ADD CONSTRAINT "website_user_id_user_account_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "website" ADD CONSTRAINT "website_created_by_user_account_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."user_account"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_key_user_id" ON "api_key" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "ended_session_expires_at" ON "ended_session" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "team_user_user_id" ON "team_user" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "website_user_id" ON "website" USING btree ("user_id") WHERE "website"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "website_team_id" ON "website" USING btree ("team_id") WHERE "website"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "website_unpurged" ON "website" USING btree ("region") WHERE "website"."deleted_at" is not null and "website"."purged_at" is null;