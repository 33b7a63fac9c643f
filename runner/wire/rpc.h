/* JSON-RPC 2.0 (https://www.jsonrpc.org/specification), a message a line. Thread-safe. */
#ifndef ISORUN_WIRE_RPC_H
#define ISORUN_WIRE_RPC_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "runner/isorun.h"

enum iso_rpc_code {
	ISO_RPC_PARSE = -32700,	   /* no JSON */
	ISO_RPC_REQUEST = -32600,  /* JSON, but no request */
	ISO_RPC_METHOD = -32601,   /* there is no such method */
	ISO_RPC_PARAMS = -32602,   /* its parameters are wrong */
	ISO_RPC_INTERNAL = -32603, /* the server failed */
	ISO_RPC_BUSY = -32000,	   /* a bound of the server's is reached: later, perhaps */
};

/* One request. Everything is borrowed from `tree`. */
struct iso_rpc_request {
	cJSON *tree;	     /* owned */
	const cJSON *id;     /* NULL: the request could not be read as far as that */
	const char *method;  /* not NULL in a request that was read */
	const cJSON *params; /* NULL: none */
};

/* Read a request. 0, or -1 with the code to answer and why. */
int iso_rpc_read(const char *line, size_t size, struct iso_rpc_request *ret_request,
		 enum iso_rpc_code *ret_code, struct iso_error *err);

/* A zeroed value is fine. */
void iso_rpc_done(struct iso_rpc_request *request);

/* Lines that the caller frees, or NULL: no memory. `id` may be NULL; `result` is taken over;
 * `params` is JSON text. */
char *iso_rpc_print_result(const cJSON *id, cJSON *result);
char *iso_rpc_print_error(const cJSON *id, enum iso_rpc_code code, const char *message);
char *iso_rpc_print_request(int id, const char *method, const char *params);

/* The result, an object that the caller owns, in the answer to request number `id`; NULL: it is
 * another answer, an error, or none at all. */
cJSON *iso_rpc_read_answer(const char *line, size_t size, int id);

#endif
