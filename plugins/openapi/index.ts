import type { Plugin, Report } from '../../src/plugin.ts'
import { readMap, appendPointer, readText } from '../../src/plugin.ts'
import { ERRORS, isOpenApi } from './load-document.ts'

/** Upstreams of type `openapi`: HTTP APIs whose operations are tools. */
export const openApi: Plugin<undefined> = {
  name: 'openapi',
  claims: { upstream: ['document'], makesUpstreams: true },
  errors: ERRORS,
  check: checkOpenApi,
  reads: config =>
    Object.values(readMap(config, 'upstreams'))
      .map(spec => spec as { type?: unknown; document?: unknown })
      .filter(({ type, document }) => type === 'openapi' && typeof document === 'string')
      .map(({ document }) => String(document))
      .filter(document => !/^https?:\/\//i.test(document)),
  async setup({ config, hooks, fetch, parseYaml, directory }) {
    if (!Object.values(config.upstreams).some(isOpenApi)) return
    const { OpenApiUpstream } = await import('./upstream.ts')
    const reading = { fetch, parseYaml, directory }
    hooks.createUpstream.for('openapi').tap((spec, context) => {
      return isOpenApi(spec) ? new OpenApiUpstream(spec, context, reading) : undefined
    })
  },
}

/** Reports document URLs with an unsupported scheme. */
function checkOpenApi(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const spec = readMap(upstreams, name)
    if (spec.type !== 'openapi') continue
    const at = appendPointer('/upstreams', name)
    const document = readText(spec, 'document') ?? ''
    const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(document) ?? []
    if (scheme !== undefined && !/^https?:/i.test(scheme))
      report({
        pointer: `${at}/document`,
        message: `unsupported scheme "${scheme}"`,
        hint: 'use a file path, or an http or https URL',
      })
  }
}
