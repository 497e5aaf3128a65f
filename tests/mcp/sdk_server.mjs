// An MCP server on the TypeScript SDK, made as the SDK's own examples are.
//
//     sdk_server.mjs MODULES [PORT [streamable-http | sse]]
//
// MODULES is the folder of the npm packages. The tools `note`, `slow`, `hold` and those that the file EXTRA names are the same as
// in sdk_server.py.

import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const [modules, port, transport = "streamable-http"] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { Server } = load("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema, ListToolsRequestSchema, isInitializeRequest } = load("@modelcontextprotocol/sdk/types.js");

const strings = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});
const extra = existsSync(process.env.EXTRA ?? "") ? readFileSync(process.env.EXTRA, "utf8").split("\n").filter(Boolean) : [];
const tools = [
  { name: "note", description: "Writes the text down, and gives it back.", inputSchema: strings("text") },
  { name: "slow", description: "Writes the text down, and gives it back after a moment.", inputSchema: strings("text") },
  {
    name: "hold",
    description: "Writes the text down, and gives it back as soon as there is a file.",
    inputSchema: strings("text", "file"),
  },
  ...extra.map((name) => ({ name, inputSchema: strings() })),
];

// A server has one connection, so each connection has one of its own.
function makeServer() {
  const server = new Server({ name: "sdk", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given } }) => {
    if (!tools.some((tool) => tool.name === name)) throw new Error(`no tool ${name}`);
    if (["note", "slow", "hold"].includes(name)) appendFileSync(process.env.NOTES, `${given.text}\n`);
    if (name === "slow") await sleep(50);
    while (name === "hold" && !existsSync(given.file)) await sleep(10);
    return { content: [{ type: "text", text: given?.text ?? name }] };
  });
  return server;
}

if (port === undefined) {
  const { StdioServerTransport } = load("@modelcontextprotocol/sdk/server/stdio.js");
  await makeServer().connect(new StdioServerTransport());
} else {
  const { createMcpExpressApp } = load("@modelcontextprotocol/sdk/server/express.js");
  const app = createMcpExpressApp();
  const connections = new Map();
  const refuse = (response) =>
    response.status(400).json({
      jsonrpc: "2.0",
      error: { code: -32000, message: "Bad Request: No valid session ID provided" },
      id: null,
    });

  if (transport === "sse") {
    const { SSEServerTransport } = load("@modelcontextprotocol/sdk/server/sse.js");
    app.get("/sse", async (_, response) => {
      const connection = new SSEServerTransport("/messages", response);
      connections.set(connection.sessionId, connection);
      response.on("close", () => connections.delete(connection.sessionId));
      await makeServer().connect(connection);
    });
    app.post("/messages", async (request, response) => {
      const connection = connections.get(request.query.sessionId);
      if (connection === undefined) return refuse(response);
      await connection.handlePostMessage(request, response, request.body);
    });
  } else {
    const { StreamableHTTPServerTransport } = load("@modelcontextprotocol/sdk/server/streamableHttp.js");
    app.post("/mcp", async (request, response) => {
      const session = request.headers["mcp-session-id"];
      let connection = connections.get(session);
      if (connection === undefined) {
        if (session !== undefined || !isInitializeRequest(request.body)) return refuse(response);
        connection = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (begun) => connections.set(begun, connection),
        });
        connection.onclose = () => connections.delete(connection.sessionId);
        await makeServer().connect(connection);
      }
      await connection.handleRequest(request, response, request.body);
    });
    const ofSession = async (request, response) => {
      const connection = connections.get(request.headers["mcp-session-id"]);
      if (connection === undefined) return refuse(response);
      await connection.handleRequest(request, response);
    };
    app.get("/mcp", ofSession);
    app.delete("/mcp", ofSession);
  }
  app.listen(Number(port), "127.0.0.1");
}
