"""Files of Office programs: text documents, slides, spreadsheets."""
