"""Models that are asked and waited for: functions, programs and people."""
