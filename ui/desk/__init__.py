"""The page Enrolment desk."""
