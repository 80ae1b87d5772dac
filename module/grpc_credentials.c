/*
 * What a channel shows to a server and wants to see of it.
 *
 * gRPC looks into a PEM only when a channel connects, and a call then fails with a text of its own.
 * What is plainly no PEM (a file's name, a key in place of a certificate) is found out here, when
 * the client is opened; what is wrong inside one is left to gRPC.
 *
 * The thread that opens.
 * Source: gRPC core's grpc_security.h; RFC 7468
 */
#include "module/grpc_credentials.h"

#include <grpc/grpc_security.h>

#include <string.h>

/* Is there a block whose label ends so? ("RSA PRIVATE KEY" and others end with "PRIVATE KEY".) */
static bool holds(const char *pem, const char *label_end)
{
  const char *begin = strstr(pem, "-----BEGIN ");
  const char *label = begin != NULL ? strstr(begin, label_end) : NULL;

  return label != NULL && strstr(label, "-----END ") != NULL;
}

static const char *find_fault(const struct kr_grpc_settings *settings)
{
  if (settings->tls_roots != NULL && !holds(settings->tls_roots, "CERTIFICATE-----")) {
    return "the file of keyroute.grpc.tls.roots holds no certificate in PEM";
  }
  if ((settings->tls_key == NULL) != (settings->tls_certificate == NULL)) {
    return "TLS wants a key and a certificate, or neither";
  }
  if (settings->tls_key != NULL && !holds(settings->tls_key, "PRIVATE KEY-----")) {
    return "the file of keyroute.grpc.tls.key holds no private key in PEM";
  }
  if (settings->tls_certificate != NULL && !holds(settings->tls_certificate, "CERTIFICATE-----")) {
    return "the file of keyroute.grpc.tls.certificate holds no certificate in PEM";
  }
  return NULL;
}

grpc_channel_credentials *kr_grpc_credentials_new(const struct kr_grpc_settings *settings,
                                                  const char **reason)
{
  grpc_ssl_pem_key_cert_pair pair = {settings->tls_key, settings->tls_certificate};

  if (!settings->tls) {
    return grpc_insecure_credentials_create();
  }
  const char *fault = find_fault(settings);

  if (fault != NULL) {
    *reason = fault;
    return NULL;
  }
  return grpc_ssl_credentials_create(settings->tls_roots, pair.private_key != NULL ? &pair : NULL,
                                     NULL, NULL);
}
