"""What has had its time goes, and nothing that somebody still needs."""
