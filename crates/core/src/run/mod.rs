//! The process around the loops: flags, admin server, telemetry, start and stop.
