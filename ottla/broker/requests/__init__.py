"""What a request is about, by the names of fields in Kafka's schemas; its parts, and how their answers are joined."""
