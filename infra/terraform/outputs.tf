output "cluster" {
  description = "aws eks update-kubeconfig --name <this>"
  value       = aws_eks_cluster.this.name
}

output "image_repository" {
  description = "image.repository of the chart"
  value       = trimsuffix(aws_ecr_repository.image["cli"].repository_url, "-cli")
}

output "trusted_proxies" {
  description = "settings.TRUSTED_PROXIES of the chart: the load balancer is in the public subnets."
  value       = join(",", aws_subnet.public[*].cidr_block)
}

output "outgoing_address" {
  description = "For the list of addresses that ClickHouse Cloud lets in."
  value       = aws_eip.nat.public_ip
}

output "registry" {
  description = "Host of DATABASE_URL; the user's password is in the secret."
  value       = one([for it in aws_db_instance.registry : { host = it.address, secret = it.master_user_secret[0].secret_arn }])
}
