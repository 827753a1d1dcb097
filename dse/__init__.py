"""The tool: studies, machines, workloads, questions and the command line."""
