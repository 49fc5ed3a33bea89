"""The pages Verification and Identification."""
