import { once } from 'node:events'
import { WebSocket } from 'ws'

/** Opens a session, makes one call in it, and is gone without a word. False when the gateway had no process free for it. */
export async function openAndDie(url: string): Promise<boolean> {
  const socket = new WebSocket(url, 'mcp')
  await once(socket, 'open')
  const ask = async (id: number, method: string, params: object): Promise<string> => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    for (;;) {
      const [data] = (await once(socket, 'message')) as [Buffer]
      const text = data.toString('utf8')
      if (text.includes(`"id":${id}`)) return text
    }
  }
  const clientInfo = { name: 'proof', version: '1' }
  await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  const answer = await ask(2, 'tools/call', { name: 'leaky-1__pid', arguments: {} })
  socket.terminate()
  if (/client connections exceeded|process limit reached/.test(answer)) return false
  if (!answer.includes('"text"')) throw new Error(`the call failed: ${answer}`)
  return true
}
