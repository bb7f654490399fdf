/* libpq as Swift sees it: https://www.postgresql.org/docs/15/libpq.html */
#ifndef SALLYPORT_CLIBPQ_H
#define SALLYPORT_CLIBPQ_H

#include <libpq-fe.h>

#endif
