"""The suite: pure rules, databases, real flows, browser, and the ground that it all stands on."""
