resource "aws_db_instance" "registry" {
  count                       = var.with_registry ? 1 : 0
  identifier                  = "${local.name}-registry"
  engine                      = "postgres"
  engine_version              = "18"
  instance_class              = var.registry_instance
  allocated_storage           = 20
  max_allocated_storage       = 100
  storage_type                = "gp3"
  storage_encrypted           = true
  multi_az                    = true
  db_name                     = "meridian"
  username                    = "meridian"
  manage_master_user_password = true # in Secrets Manager
  db_subnet_group_name        = aws_db_subnet_group.registry[0].name
  vpc_security_group_ids      = [aws_security_group.registry[0].id]
  parameter_group_name        = aws_db_parameter_group.registry[0].name
  backup_retention_period     = 14
  copy_tags_to_snapshot       = true
  deletion_protection         = true
  final_snapshot_identifier   = "${local.name}-registry-last"
}

resource "aws_db_subnet_group" "registry" {
  count      = var.with_registry ? 1 : 0
  name       = "${local.name}-registry"
  subnet_ids = aws_subnet.private[*].id
}

# As infra/postgres/postgresql.conf; memory and connections are RDS's own defaults for the class.
resource "aws_db_parameter_group" "registry" {
  count  = var.with_registry ? 1 : 0
  name   = "${local.name}-registry"
  family = "postgres18"

  dynamic "parameter" {
    for_each = {
      statement_timeout                   = "5000"
      lock_timeout                        = "2000"
      idle_in_transaction_session_timeout = "10000"
    }
    content {
      name  = parameter.key
      value = parameter.value
    }
  }
}

resource "aws_security_group" "registry" {
  count  = var.with_registry ? 1 : 0
  name   = "${local.name}-registry"
  vpc_id = aws_vpc.this.id
}

resource "aws_vpc_security_group_ingress_rule" "registry" {
  for_each          = var.with_registry ? toset(concat([var.vpc_cidr], var.registry_cidrs)) : []
  security_group_id = aws_security_group.registry[0].id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 5432
  to_port           = 5432
}
