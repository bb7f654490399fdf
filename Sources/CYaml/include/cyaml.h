/* libyaml as Swift sees it. */
#ifndef SALLYPORT_CYAML_H
#define SALLYPORT_CYAML_H

#include <yaml.h>

#endif
