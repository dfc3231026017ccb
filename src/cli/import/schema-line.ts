import { existsSync, realpathSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'

/** Place of the schema where the gateway is installed beside the configuration. */
const BESIDE = './node_modules/tapgate/schemas/gateway.json'

/** First line of a configuration, by which editors complete and check it: the schema of the gateway that writes it. */
export function schemaLine(target: string, launcher = String(process.argv[1])): string {
  return `# yaml-language-server: $schema=${schemaOf(launcher, target)}`
}

function schemaOf(launcher: string, target: string): string {
  // A global installation is called by a link, which has no schema beside it.
  const schema = existsSync(launcher) && resolve(dirname(realpathSync(launcher)), '../schemas/gateway.json')
  if (schema === false || !existsSync(schema)) return BESIDE
  const path = relative(dirname(target), schema)
  return path.startsWith('..') ? schema : `./${path}`
}
