"""One HTML file that explains a score, a comparison or a leaderboard: no network, no server, no other files."""
