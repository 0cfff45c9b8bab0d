CREATE TABLE "segment" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"website_id" uuid NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"parameters" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "segment_type" CHECK ("segment"."type" in ('segment', 'cohort'))
);
--> statement-breakpoint
ALTER TABLE "segment" ADD CONSTRAINT "segment_website_id_website_id_fk" FOREIGN KEY ("website_id") REFERENCES "public"."website"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "segment_website_id" ON "segment" USING btree ("website_id","type");