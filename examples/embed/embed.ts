import { join } from 'node:path'
import { createGateway, loadConfig, RpcFailure } from 'tapgate'

const cwd = import.meta.dirname

// #region start
const config = await loadConfig({ file: 'gateway.yaml', cwd, environment: process.env })
const gateway = await createGateway(config, { environment: process.env })
await gateway.start()
console.log(`listening on ${gateway.listeners[0]?.url}`)

// A client in this process passes through every plugin, as any other does.
const client = await gateway.connect({ client: { name: 'embed-example', version: '1.0.0' } })
const sum = await client.request('tools/call', { name: 'everything__get-sum', arguments: { a: 2, b: 40 } })
console.log(JSON.stringify(sum.content))

try {
  await client.request('tools/call', { name: 'everything__nothing' })
} catch (error) {
  if (error instanceof RpcFailure) console.log(error.error.code, error.error.message)
}
// #endregion start

// #region servers
// Servers by name: watch, stop and restart them.
const everything = gateway.upstreams.get('everything')
console.log(everything?.status().state)
const leave = gateway.on('state', ({ upstream, state }) => console.log(`${upstream} is ${state}`))
await everything?.restart()
leave()
// `control` runs the verbs of the control socket, such as that of gateway ps.
const { listeners } = await gateway.control('ps')
console.log(JSON.stringify(listeners))
// #endregion servers

// #region reload
// Reloads another configuration without interruption. If it is invalid, this rejects and the old one stays active.
const server = join(cwd, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const upstream = { type: 'stdio', command: 'node', args: [server], prefix: '', tools: { allow: ['echo'] } }
await gateway.reload({ version: 1, upstreams: { everything: upstream } })
const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
console.log(tools.map(tool => tool.name).join(', '))

client.close()
await gateway.close()
// #endregion reload
