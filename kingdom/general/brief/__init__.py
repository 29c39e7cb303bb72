"""What a soldier is told: prompt, guide and memory."""
