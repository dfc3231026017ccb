import { appendFileSync } from 'node:fs'

/** Notes who came, in which era, and how many tools they were shown. */
const recorder = {
  name: 'recorder',
  setup({ options, hooks }) {
    const note = row => appendFileSync(options.file, `${JSON.stringify(row)}\n`)
    hooks.response.tap((answer, { method, session }) => {
      const { era, version, info } = session.client
      const tools =
        method === 'tools/list' && 'result' in answer ? answer.result.value().tools.length : undefined
      note({ method, era, version, client: info?.name, tools, failed: 'error' in answer })
      return undefined
    })
  },
}

export { recorder as default }
