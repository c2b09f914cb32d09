"""Mail, chats, calendars and subtitles: a document per message, talk or event."""
