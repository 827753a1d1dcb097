"""What can be asked: each verb takes a study, models compared, a Dataset, or a path of one."""
