"""What every room needs: checks of arguments, files that are whole or not there, where things are kept, words."""
