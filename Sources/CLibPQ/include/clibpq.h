/* libpq as Swift sees it: https://www.postgresql.org/docs/15/libpq.html */
#ifndef SALLYPORT_CLIBPQ_H
#define SALLYPORT_CLIBPQ_H

#include <libpq-fe.h>

/* From postgres_ext.h, where they are character macros: as integers of the type that PQresultErrorField takes. */
static const int sallyport_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int sallyport_diag_message_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int sallyport_diag_constraint_name = PG_DIAG_CONSTRAINT_NAME;
static const int sallyport_diag_column_name = PG_DIAG_COLUMN_NAME;

#endif
