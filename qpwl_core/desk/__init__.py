"""The enrolment desk: a database of people, decisions about those who come, thresholds that promise a rate."""
