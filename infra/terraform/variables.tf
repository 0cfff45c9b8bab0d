variable "region" {
  description = "Meridian's name of the region: REGION of its processes, and part of the names here."
  type        = string
  default     = "us"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.region))
    error_message = "Lower-case letters, digits and dashes."
  }
  # On the state of another region a plan for this one destroys that one's cluster and registry.
  validation {
    condition     = terraform.workspace == var.region
    error_message = "Each region has its state in the workspace of its name: terraform workspace select -or-create ${var.region}"
  }
}

variable "aws_region" {
  description = "Where it lies, such as us-east-1."
  type        = string
}

variable "vpc_cidr" {
  description = "A /16 that no other region has, so that their networks can be joined."
  type        = string
  default     = "10.20.0.0/16"
}

variable "with_registry" {
  description = "Whether the registry (PostgreSQL) is here. One region of the installation has it; the others get its address in DATABASE_URL."
  type        = bool
  default     = true
}

variable "registry_cidrs" {
  description = "Networks of the other regions, which may reach the registry. That they can (peering, transit gateway) is not made here."
  type        = list(string)
  default     = []
}

variable "registry_instance" {
  description = "Class of the registry's instances."
  type        = string
  default     = "db.t4g.medium"
}

variable "kubernetes_version" {
  type    = string
  default = "1.34"
}
