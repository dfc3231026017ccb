import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of APIs that are described by a document. */
export const ERRORS = {
  GW_OPENAPI_DOCUMENT: {
    text: 'the OpenAPI document {document} cannot be used: {why}',
    hint: 'Look at "document" and "server" of this upstream; gateway restart reads the document again.',
    exit: 4,
    rpc: RPC.internal,
  },
} as const

export const openApiError = errorsOf(ERRORS)
