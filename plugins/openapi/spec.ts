import type { UpstreamConfig } from '../../src/plugin.ts'

/** Configuration of one API. */
export type OpenApiSpec = Extract<UpstreamConfig, { readonly type: 'openapi' }>

/** True for upstreams that are an API. */
export function isOpenApi(spec: UpstreamConfig): spec is OpenApiSpec {
  return spec.type === 'openapi'
}
