"""Rules and objects drawn at random, judged by us and by the real libraries. The command is `tests.fuzz.cel.run`."""
